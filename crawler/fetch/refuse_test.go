package fetch

import (
	"errors"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

var errListed = errors.New("listed")

func TestRule16_ARefusedAddressIsNotDialled(t *testing.T) {
	out := netip.MustParsePrefix("192.0.2.0/24")
	f := mustNew(t, Config{
		AllowNet: nets("0.0.0.0/0", "::/0"),
		Refuse: func(a netip.Addr) error {
			if out.Contains(a) {
				return errListed
			}
			return nil
		},
	})
	for addr, refused := range map[string]bool{
		"192.0.2.7": true, "::ffff:192.0.2.7": true, "64:ff9b::192.0.2.7": true, "2002:c000:207::1": true,
		"192.0.3.7": false, "64:ff9b::192.0.3.7": false, "2606:2800:220:1::1": false,
	} {
		err := f.guard(authority(t, "http://a.test"), netip.AddrPortFrom(netip.MustParseAddr(addr), 80))
		var failure *Failure
		assert.Equal(t, (errors.As(err, &failure) && failure.Class == OptOut && errors.Is(err, errListed)), refused, addr)
		assert.Equal(t, (err != nil), refused, addr)
	}
}

func TestRule16_AKeptConnectionIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{serve: always(ok("bread"))}
		listed := false
		f := w.fetcher(t, Config{Identity: known, Refuse: func(netip.Addr) error {
			if listed {
				return errListed
			}
			return nil
		}})
		for _, step := range []struct{ listed, reused bool }{{false, false}, {false, true}, {true, false}} {
			listed = step.listed
			x := get(t, f, "http://a.test/")
			if step.listed != (x.Failure != nil) || x.Reused != step.reused || step.listed != (len(x.Request) == 0) {
				t.Errorf("%+v: %+v", step, x)
			}
			time.Sleep(time.Second)
		}
		assert.Len(t, w.dialed, 1, "dialled")
	})
}
