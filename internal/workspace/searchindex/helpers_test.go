package searchindex

import "time"

func time2020() time.Time { return time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC) }
