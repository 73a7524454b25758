package messaging

// Looks returns how often the outbox has looked for what is due.
func (o *Outbox) Looks() int64 { return o.looks.Load() }
