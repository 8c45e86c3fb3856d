#!/bin/sh
# End with an exit code of its own.
echo "looking for the input"
echo "no input" >&2
exit 3
