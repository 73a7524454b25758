-- What the agents of a run have used. The cost is in millionths of a dollar.
ALTER TABLE cron_run ADD COLUMN tokens BIGINT NOT NULL DEFAULT 0;
ALTER TABLE cron_run ADD COLUMN cost BIGINT NOT NULL DEFAULT 0;
