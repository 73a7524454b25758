package commands

import "time"

// minSweep and maxSweep bound the interval between two sweeps.
const (
	minSweep = time.Second
	maxSweep = 30 * time.Second
)

// leave ends a command's use of an instance. A spoilt instance is retired:
// it does not accept further commands.
func (c *Commands) leave(n *instance, spoilt bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n.busy--
	n.used = time.Now()
	if spoilt {
		c.retire(n)
	}
	c.settle(n)
}

// retire closes an instance to new commands; it ends with its last one.
// c.mu is held.
func (c *Commands) retire(n *instance) {
	n.retired = true
	if c.warm[n.key] == n {
		delete(c.warm, n.key)
	}
	c.settle(n)
}

// settle ends an instance that is retired and unused. c.mu is held.
func (c *Commands) settle(n *instance) {
	if n.retired && n.busy == 0 {
		c.end(n)
	}
}

// end ends an instance and all commands in it without waiting. It may be called
// with c.mu held, and from callbacks of the box.
func (c *Commands) end(n *instance) {
	n.ending.Do(func() {
		n.dying.Store(true)
		c.working.Go(func() {
			<-n.ready
			if n.box != nil {
				if err := n.box.Close(); err != nil {
					c.o.Log.Debug("a sandbox ended", "tier", n.key.tier, "err", err)
				}
			}
			for i := len(n.clean) - 1; i >= 0; i-- {
				n.clean[i]()
			}
			close(n.gone)
			c.mu.Lock()
			defer c.mu.Unlock()
			n.retired = true
			if c.warm[n.key] == n {
				delete(c.warm, n.key)
			}
			delete(c.instances, n)
		})
	})
}

// arm schedules the next sweep if there is anything to sweep. c.mu is held.
func (c *Commands) arm() {
	if c.closed || c.armed {
		return
	}
	c.armed = true
	every := min(max(min(c.o.Idle, c.o.Background.Age)/4, minSweep), maxSweep)
	c.sweeper = time.AfterFunc(every, c.sweep)
}

// sweep ends idle instances, and removes expired processes and directory lists.
func (c *Commands) sweep() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.armed = false
	now := time.Now()
	for n := range c.instances {
		if n.busy == 0 && (now.Sub(n.used) >= c.o.Idle || now.Sub(n.born) >= c.o.Age) {
			c.retire(n)
		}
	}
	for _, p := range c.kept {
		if p.isOver() && now.Sub(p.endedAt()) >= c.o.Background.Age {
			c.drop(p)
		}
	}
	for key, g := range c.dirs {
		if g.stale(now) {
			delete(c.dirs, key)
		}
	}
	if len(c.instances)+len(c.kept)+len(c.dirs) > 0 {
		c.arm()
	}
}
