"""Pictures as SVG text, made from plain values. No `style=`: colours are classes, so that the content policy holds."""
