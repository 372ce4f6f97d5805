"""What every room uses: types, checks of arguments, bits of coalitions, files, text, threads."""
