package bolt

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"curtsy/frontier"
)

func TestLeases_EqualMap(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 7))
	var hs hosts
	for id := range uint32(40) {
		hs.all = append(hs.all, &host{id: id})
	}
	ls := leases{hosts: &hs, epoch: 3, length: 20}
	out := map[uint32]int64{} // when the lease of a host expires
	tokens := map[frontier.Token]bool{}
	now := int64(0)
	for range 20_000 {
		switch h := hs.all[rng.IntN(len(hs.all))]; rng.IntN(4) {
		case 0, 1:
			if h.lease != nil {
				ls.end(h)
				delete(out, h.id)
				break
			}
			ls.length = time.Duration(rng.IntN(30))
			ls.begin(h, now)
			require.Falsef(t, tokens[h.lease.token], "token %x comes twice", h.lease.token)
			tokens[h.lease.token] = true
			out[h.id] = now + int64(ls.length)
			require.LessOrEqualf(t, len(ls.expiry), 2*len(out)+64, "%d entries for %d leases", len(ls.expiry), len(out))
		case 2:
			now += rng.Int64N(5)
		case 3:
			for h := ls.popExpired(now); h != nil; h = ls.popExpired(now) {
				at, ok := out[h.id]
				require.Truef(t, ok && at <= now, "at %d the lease of host %d is over, which ends at %d, %v", now, h.id, at, ok)
				ls.end(h)
				delete(out, h.id)
			}
			for id, at := range out {
				require.Greaterf(t, at, now, "at %d the lease of host %d is not over, which ended at %d", now, id, at)
			}
		}
		earliest := int64(math.MaxInt64)
		for _, at := range out {
			earliest = min(earliest, at)
		}
		if ls.out != len(out) || ls.earliest() > earliest {
			t.Fatalf("%d leases, the first ends at %d; want %d, at %d or before", ls.out, ls.earliest(), len(out), earliest)
		}
	}
}

func TestLeases_EndedOnesAreForgotten(t *testing.T) {
	h := host{}
	ls := leases{hosts: &hosts{all: []*host{&h}}, length: time.Hour}
	for range 3000 {
		ls.begin(&h, 0)
		ls.end(&h)
		require.LessOrEqual(t, len(ls.expiry), 100, "entries of one host")
	}
}
