"""What every part uses: errors, the lists of names, the words of messages."""
