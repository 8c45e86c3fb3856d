#!/bin/sh
# Say hello, count to five, and end.
echo "hello from $(uname -n)"
for n in 1 2 3 4 5; do
    echo "step $n of 5"
    sleep 0.5
done
echo "done"
