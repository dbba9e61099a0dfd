"""Values of rows under a later definition of their table: through renames, defaults and changes of types, as the server carries them."""
