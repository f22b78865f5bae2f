SELECT one.* FROM OPENJSON({parameter}) WITH ({columns}) AS branch
CROSS APPLY (
{one}
) AS one
