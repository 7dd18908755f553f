package trial

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"curtsy/crawler/crawldir"
	"curtsy/frontier/canon"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/ledger/hostmap"
	"curtsy/storage/optout"
	"curtsy/storage/proof"
	"curtsy/storage/redact"
)

const optOutName = "optout.txt"

func (x *trial) firstKey(t *testing.T, root string) {
	t.Helper()
	x.set.keyFile = filepath.Join(root, "keys", "ledger.key")
	secret := make([]byte, 32)
	secret[0] = byte(x.web.seed)
	s, err := checkpoint.NewSigner(secret)
	err = errors.Join(err, os.MkdirAll(filepath.Dir(x.set.keyFile), 0o700), os.WriteFile(x.set.keyFile, []byte(hex.EncodeToString(secret)+"\n"), 0o600))
	require.NoError(t, err)
	x.known = s.Key()
}

func (x *trial) rotate(t *testing.T, life int, offset time.Duration) {
	t.Helper()
	d := throw(x.web.seed, "rotate", strconv.Itoa(life))
	for d.in(4) {
		secret, err := secretIn(x.set.keyFile)
		require.NoError(t, err)
		at := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(began + x.elapsed + offset)
		if _, err := crawldir.Rotate(x.set.keyFile, secret, at); err != nil {
			t.Fatal(err)
		}
		x.rotations++
	}
}

func (x *trial) forget(t *testing.T, life int, offset time.Duration) {
	t.Helper()
	d := throw(x.web.seed, "forget", strconv.Itoa(life))
	if d.in(2) {
		return
	}
	time.Sleep(began + x.elapsed + offset)
	r := redact.Request{Dir: x.dir, All: !d.in(3), Reason: d.one("", "by mail")}
	var ok bool
	if r.Subject, r.OptOut, ok = x.subject(t, d); !ok {
		return
	}
	set := x.operated(t)
	before := x.exchanges(t)
	j, err := redact.Prepare(t.Context(), r)
	if errors.Is(err, redact.ErrNothing) || errors.Is(err, redact.ErrDone) {
		return
	}
	require.NoError(t, err)
	if _, err := optout.Append(filepath.Join(x.dir, optOutName), []string{j.OptOut}, j.Reason); err != nil {
		t.Fatal(err)
	}
	err = j.Finish(t.Context(), x.dir, redact.Hands{Ledger: func() (*ledger.Writer, error) {
		signer, rotations, err := set.signer()
		if err != nil {
			return nil, err
		}
		return ledger.Open(ledger.Options{Dir: filepath.Join(x.dir, "ledger"), SegmentSize: 1 << 20, Software: "curtsy/1", Signer: signer, Rotations: rotations})
	}})
	require.NoError(t, err)
	x.takedowns++
	x.gone += before - x.exchanges(t)
}

func (x *trial) operated(t *testing.T) settings {
	t.Helper()
	set := x.set
	set.operator = true
	c := &crawl{dir: x.dir, synced: map[string]int64{}, ready: make(chan struct{})}
	require.NoError(t, errors.Join(c.openEvidence(t.Context(), set), c.close()))
	return set
}

func (x *trial) update(t *testing.T, offset time.Duration) {
	t.Helper()
	time.Sleep(began + x.elapsed + offset)
	x.operated(t)
	as := crawldir.Settings{Delay: x.set.delay, OwnSite: []string{x.set.own}, Hosts: x.set.hosts, MaxPages: 1} // a budget that is spent
	if _, err := crawldir.Update(t.Context(), x.dir, &as, &as); errors.Is(err, crawldir.ErrNotEnded) {         // there is no page yet
		return
	} else if err != nil {
		t.Fatal(err)
	}
	x.updates++
	x.before = x.exchanges(t)
}

func (x *trial) subject(t *testing.T, d dice) (s redact.Subject, entry string, ok bool) {
	t.Helper()
	var all []canon.URL
	refused := d.in(4)
	for l, err := range ledger.Read(filepath.Join(x.dir, "ledger")) {
		require.NoError(t, err)
		if u, err := canon.Parse(l.URL); err == nil && u.RequestURI() != "/robots.txt" && (l.Record != "" || refused) {
			all = append(all, u)
		}
	}
	if len(all) == 0 {
		return s, "", false
	}
	u := all[d.IntN(len(all))]
	if d.in(2) {
		s = redact.Subject{Text: u.String(), Covers: func(raw string) bool {
			other, err := canon.Parse(raw)
			return err == nil && other.Key() == u.Key()
		}}
		return s, u.String() + "$", true
	}
	s = redact.Subject{Text: u.Authority().HostPort(), Host: true}
	list, err := optout.Parse("", []byte(s.Text))
	require.NoError(t, err)
	s.Covers = func(raw string) bool {
		other, err := canon.Parse(raw)
		if err != nil {
			return false
		}
		_, under := list.URL(other)
		return under
	}
	return s, s.Text, true
}

func (x *trial) exchanges(t *testing.T) (n int64) {
	t.Helper()
	for l, err := range ledger.Read(filepath.Join(x.dir, "ledger")) {
		require.NoError(t, err)
		if l.Record != "" {
			n++
		}
	}
	return n
}

func (x *trial) prove(t *testing.T, root string) {
	t.Helper()
	index, err := filepath.Glob(filepath.Join(x.dir, "index", "*.cdxj"))
	require.NoError(t, err)
	c := proof.Crawl{Ledger: filepath.Join(x.dir, "ledger"), Archive: filepath.Join(x.dir, "warc"), Index: index, TempDir: filepath.Join(root, "temp")}
	d := throw(x.web.seed, "prove")
	for range 2 {
		host := hostmap.Host("http://" + x.web.host(d.IntN(x.web.hosts)).name + "/")
		if r := x.bundle(t, c, host); !r.Holds || r.Level != proof.Signed {
			t.Errorf("case %d: the bundle of %s: %s, %+v", x.web.seed, host, r.Level, r.Findings)
		} else if r.Absent {
			x.absent++
		}
		x.bundles++
	}
}

func (x *trial) bundle(t *testing.T, c proof.Crawl, host string) *proof.Result {
	t.Helper()
	g, err := proof.Of(t.Context(), c, host)
	require.NoError(t, err)
	defer g.Close()
	var b bytes.Buffer
	if _, err := proof.Make(t.Context(), &b, g.Source); err != nil {
		t.Fatal(fmt.Errorf("case %d, %s: %w", x.web.seed, host, err))
	}
	r, err := proof.Verify(t.Context(), bytes.NewReader(b.Bytes()), int64(b.Len()), proof.Options{Key: x.known, TempDir: c.TempDir})
	require.NoError(t, err)
	return r
}
