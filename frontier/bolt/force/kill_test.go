package force_test

import (
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestKill_LosesNothingAcknowledged(t *testing.T) {
	list, urls := commits(t)
	killed := 0
	for range sizes(20, 100) {
		file, at := filepath.Join(t.TempDir(), "frontier.db"), rand.IntN(len(list)-1)
		now := make(chan struct{})
		stop := sync.OnceFunc(func() { close(now) })
		p := start(t, "", "script", file, func(p *process) {
			if p.opened && p.steps == at {
				stop()
			}
		})
		select {
		case <-now:
		case <-p.heard: // it has ended: judge reports why
		}
		p.kill()
		p.judge(t, file, list, urls, !p.done)
		if !p.done {
			killed++
		}
	}
	t.Logf("kill: %d of %d children were killed before they had ended", killed, sizes(20, 100))
	assert.GreaterOrEqual(t, killed, sizes(20, 100)/2, "so few were killed that it proves nothing")
}
