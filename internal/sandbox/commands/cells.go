package commands

import "time"

// sweepMost and sweepLeast bound how often idle things are looked for.
const (
	sweepLeast = time.Second
	sweepMost  = 30 * time.Second
)

// leave says that a command of a cell is over. A cell that is spoilt takes no
// more.
func (c *Commands) leave(n *cell, spoilt bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n.busy--
	n.used = time.Now()
	if spoilt {
		c.retire(n)
	}
	c.settle(n)
}

// retire keeps new commands out of a cell, which goes with the last that it
// has. The lock is held.
func (c *Commands) retire(n *cell) {
	n.retired = true
	if c.warm[n.key] == n {
		delete(c.warm, n.key)
	}
	c.settle(n)
}

// settle ends a cell that is not needed. The lock is held.
func (c *Commands) settle(n *cell) {
	if n.retired && n.busy == 0 {
		c.end(n)
	}
}

// end ends a cell and all commands in it, and does not wait for that. It may be
// called with the lock and from where the box calls back.
func (c *Commands) end(n *cell) {
	n.ending.Do(func() {
		n.dying.Store(true)
		c.working.Go(func() {
			<-n.ready
			if n.box != nil {
				if err := n.box.Close(); err != nil {
					c.o.Log.Debug("a sandbox ended", "tier", n.key.tier, "error", err)
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
			delete(c.cells, n)
		})
	})
}

// arm has sweep called in a while, if there is anything to look after. The lock
// is held.
func (c *Commands) arm() {
	if c.closed || c.armed {
		return
	}
	c.armed = true
	every := min(max(min(c.o.Idle, c.o.Background.Age)/4, sweepLeast), sweepMost)
	c.sweeper = time.AfterFunc(every, c.sweep)
}

// sweep ends what nobody has used for long.
func (c *Commands) sweep() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.armed = false
	now := time.Now()
	for n := range c.cells {
		if n.busy == 0 && (now.Sub(n.used) >= c.o.Idle || now.Sub(n.born) >= c.o.Age) {
			c.retire(n)
		}
	}
	for _, p := range c.kept {
		if p.isOver() && now.Sub(p.endedAt()) >= c.o.Background.Age {
			c.drop(p)
		}
	}
	for key, g := range c.grounds {
		if g.stale(now) {
			delete(c.grounds, key)
		}
	}
	if len(c.cells)+len(c.kept)+len(c.grounds) > 0 {
		c.arm()
	}
}
