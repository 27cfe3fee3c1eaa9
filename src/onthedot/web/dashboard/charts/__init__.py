"""Figures as SVG text: pure functions, values in, `Markup` out. Colours by class, never by `style=`."""
