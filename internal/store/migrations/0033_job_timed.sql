-- The time at which run_at of a queued job was set, if it is done again after a while; 0 for other jobs.
ALTER TABLE job ADD COLUMN timed BIGINT NOT NULL DEFAULT 0;
