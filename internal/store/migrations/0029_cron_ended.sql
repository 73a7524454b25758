-- When a job ended that is not listed any more: its history is kept for a while. 0 for the others.
ALTER TABLE cron ADD COLUMN ended BIGINT NOT NULL DEFAULT 0;
