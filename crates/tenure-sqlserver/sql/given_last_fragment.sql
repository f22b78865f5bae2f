-- The same of the last of them.
{given_fragment}
