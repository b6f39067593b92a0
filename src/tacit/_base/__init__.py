"""Tools that every room uses: validation, files, packing, rounding, compiled loops."""
