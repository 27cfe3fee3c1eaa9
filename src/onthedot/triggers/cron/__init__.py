"""The cron dialect: fields as bit masks, searched field by field."""
