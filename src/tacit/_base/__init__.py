"""What every room stands on: validation, files, packing, rounding, compiled loops."""
