"""The store on MongoDB: the same transactions over rows, with documents for rows and write conflicts for locks."""
