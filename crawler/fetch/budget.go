package fetch

import (
	"time"

	"golang.org/x/time/rate"
)

// budget bounds the octets per second that all connections together bring (politeness rule 15). Octets are paid for
// after they were read: whoever has read may not read on before its share of the past is due, and meanwhile TCP slows
// the other side down. A nil budget is endless.
type budget struct{ limiter *rate.Limiter }

// maxBurst bounds what may be read at once, and so how uneven the rate is within a second.
const maxBurst = 64 << 10

// newBudget returns the budget of so many octets per second; nil for zero.
func newBudget(perSecond int64) *budget {
	if perSecond == 0 {
		return nil
	}
	return &budget{rate.NewLimiter(rate.Limit(perSecond), int(min(perSecond, maxBurst)))}
}

// most returns how many of n octets may be read in one go.
func (b *budget) most(n int) int {
	if b == nil {
		return n
	}
	return min(n, b.limiter.Burst())
}

// spend waits until n octets, at most what most allows, are paid for, or until over is closed. It returns how long that
// took.
func (b *budget) spend(n int, over <-chan struct{}) time.Duration {
	if b == nil {
		return 0
	}
	begin := time.Now()
	due := b.limiter.ReserveN(begin, n).DelayFrom(begin)
	if due <= 0 {
		return 0
	}
	wait := time.NewTimer(due)
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-over: // what was read was read: it stays paid for
	}
	return time.Since(begin)
}
