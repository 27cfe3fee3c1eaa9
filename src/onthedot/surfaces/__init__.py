"""How people and programs reach the app: the command line, HTTP, the dashboard. Thin: no rules live here."""
