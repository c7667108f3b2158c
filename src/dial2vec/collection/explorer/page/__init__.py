"""The files of the explorer's page; `explorer_page` joins them."""
