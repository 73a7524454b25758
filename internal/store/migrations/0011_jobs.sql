-- Nothing uses the queue of jobs.
DROP TABLE job;
