-- How many transactions are open on this session.
SELECT @@TRANCOUNT AS transactions
