"""Where objects live and how they are watched: one folder for each platform, none knows another."""
