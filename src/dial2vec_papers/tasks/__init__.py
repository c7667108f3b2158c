"""The evaluation tasks of the DSE, DialogueCSE and DialAug papers, for any function that maps texts to vectors."""
