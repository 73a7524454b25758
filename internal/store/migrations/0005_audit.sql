-- The record of calls.
SELECT 1;
