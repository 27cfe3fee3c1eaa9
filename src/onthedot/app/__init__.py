"""The composition root: joins the stages below into the app that users hold."""
