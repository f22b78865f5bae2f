-- Ends the text if the statement before it has found no row.
{unmet_fragment}
