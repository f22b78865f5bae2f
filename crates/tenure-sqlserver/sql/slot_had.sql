-- In a transaction of our own: ends the text if the row of slot_own or slot_take is not there.
{unmet_fragment}
