package control

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime/metrics"
	"strings"
	"time"

	"curtsy/crawler/status"
	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/frontier/durable"
)

// ErrNotRunning means that no crawl responds for a directory.
var ErrNotRunning = errors.New("crawler: no crawl is running there")

// maxAnswer bounds the bytes of a response.
const maxAnswer = 64 << 20

// askTime is the timeout of questions. Commands, and walks through all hosts, have no timeout.
const askTime = 10 * time.Second

// Remote is a running crawl behind its control interface.
type Remote struct {
	dir    string
	at     address
	client http.Client
}

// Connect connects to the crawl that runs in dir. The error is ErrNotRunning without one, also if a killed crawl left its control file,
// and its port belongs to another process.
func Connect(ctx context.Context, dir string) (*Remote, error) {
	return connect(ctx, dir, File, new(status.Status))
}

// Ask returns the status of the crawl that runs in dir, or ErrNotRunning.
func Ask(ctx context.Context, dir string) (s status.Status, err error) {
	_, err = connect(ctx, dir, File, &s)
	return s, err
}

// AskWatch returns the state of the watch of dir, or ErrNotRunning.
func AskWatch(ctx context.Context, dir string) (w status.Watch, err error) {
	_, err = connect(ctx, dir, WatchFile, &w)
	return w, err
}

// connect connects to the writer of a file in dir, and reads its state into is.
func connect(ctx context.Context, dir, file string, is any) (*Remote, error) {
	b, err := durable.ReadFile(filepath.Join(dir, file))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotRunning
	}
	if err != nil {
		return nil, err
	}
	r := &Remote{dir: dir}
	if err := json.Unmarshal(b, &r.at); err != nil {
		return nil, fmt.Errorf("%w: %s is damaged: %w", ErrNotRunning, file, err)
	}
	if host, _, err := net.SplitHostPort(r.at.Address); err != nil || host != "127.0.0.1" {
		return nil, fmt.Errorf("%w: %s is damaged: it names %q", ErrNotRunning, file, r.at.Address)
	}
	if r.at.Token == "" {
		return nil, fmt.Errorf("%w: %s is damaged: it has no token", ErrNotRunning, file)
	}
	terms, err := Secure(r.at.Token)
	if err != nil {
		return nil, err
	}
	r.client = http.Client{
		Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true, TLSClientConfig: terms},
		// A crawl never redirects.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	if err := r.call(ctx, "/status", struct{}{}, is); err != nil {
		return nil, err
	}
	return r, nil
}

// call sends a question or a command.
func call[Report any](ctx context.Context, r *Remote, path string, order any) (report Report, err error) {
	err = r.call(ctx, path, order, &report)
	return report, err
}

func (r *Remote) call(ctx context.Context, path string, order, report any) error {
	body, err := json.Marshal(order)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+r.at.Address+noting(ctx, path), bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := r.client.Do(req)
	var slow net.Error
	switch {
	case err == nil:
	case ctx.Err() != nil || errors.As(err, &slow) && slow.Timeout():
		return fmt.Errorf("crawler: control interface: %w", err) // it runs, or the caller stopped waiting
	default:
		// Most likely the file of a killed crawl, whose port may by now belong to another process, which does not
		// have the crawl's key.
		return fmt.Errorf("%w: %w", ErrNotRunning, err)
	}
	defer resp.Body.Close()
	in := io.LimitReader(resp.Body, maxAnswer)
	if resp.StatusCode == http.StatusOK {
		if err := json.NewDecoder(in).Decode(report); err != nil {
			return fmt.Errorf("crawler: control interface: %w", err)
		}
		return nil
	}
	var said errorBody
	if err := json.NewDecoder(in).Decode(&said); err != nil || said.Error == "" {
		return fmt.Errorf("crawler: the control interface answers %s", resp.Status)
	}
	if resp.StatusCode == http.StatusBadRequest {
		return badOrder{errors.New(said.Error)}
	}
	return errors.New(said.Error)
}

// BadOrder reports whether a command was invalid in itself.
func BadOrder(err error) bool {
	var bad badOrder
	return errors.As(err, &bad)
}

// addBatch is the size of seeds in one request: JSON may be six times as long, and there are names.
const addBatch = maxOrder / 8

// piece returns how many of cs to send at a time.
func piece(cs []frontier.Candidate) int {
	n := 0
	for size := 0; n < len(cs) && size < addBatch-canon.MaxLength; n++ {
		size += len(cs[n].URL.String()) + len(cs[n].Tag) + len(`{"url":"","tag":""},`)
	}
	return n
}

// Add adds seeds, and extends the scope to them. Other candidates are rejected.
func (r *Remote) Add(ctx context.Context, cs []frontier.Candidate) (sum frontier.Added, err error) {
	for len(cs) > 0 {
		n := piece(cs)
		orders := make([]seed, n)
		for i, c := range cs[:n] {
			if c.Kind != frontier.KindSeed {
				return sum, fmt.Errorf("crawler: %s is not a seed: a running crawl takes no other URLs", c.URL)
			}
			orders[i] = seed{c.URL, c.Tag}
		}
		added, err := call[frontier.Added](ctx, r, "/add", orders)
		if err != nil {
			return sum, err
		}
		sum.New += added.New
		sum.Known += added.Known
		sum.Refused += added.Refused
		sum.Capped += added.Capped
		cs = cs[n:]
	}
	return sum, nil
}

func (r *Remote) Steer(ctx context.Context, s frontier.Steering) (frontier.Steered, error) {
	return call[frontier.Steered](ctx, r, "/steer", s)
}

func (r *Remote) Retry(ctx context.Context, t frontier.Retrial) (frontier.Retried, error) {
	return call[frontier.Retried](ctx, r, "/retry", t)
}

// Find is the function Find in the crawl.
func (r *Remote) Find(ctx context.Context, host string) ([]canon.Authority, error) {
	return call[[]canon.Authority](ctx, r, "/find", host)
}

func (r *Remote) Hosts(ctx context.Context, q status.Query) (status.Page, error) {
	return call[status.Page](ctx, r, "/hosts", q)
}

func (r *Remote) Host(ctx context.Context, a canon.Authority) (status.One, error) {
	return call[status.One](ctx, r, "/host", a)
}

// Pause stops the crawl from beginning exchanges until Pause(false).
func (r *Remote) Pause(ctx context.Context, on bool) error {
	return r.call(ctx, "/pause", on, &struct{}{})
}

// Drain ends the crawl after the exchanges under way.
func (r *Remote) Drain(ctx context.Context) error {
	return r.call(ctx, "/drain", struct{}{}, &struct{}{})
}

// Snapshot has the crawl write its current frontier to a new file, and returns its path. The caller removes it.
func (r *Remote) Snapshot(ctx context.Context) (path string, err error) {
	name := NewSnapshot()
	path = filepath.Join(r.dir, name)
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("crawler: control interface: snapshot: %s: %w", path, cmp.Or(err, fs.ErrExist))
	}
	made, err := call[string](ctx, r, "/snapshot", name)
	if err != nil {
		return "", err
	}
	if made != name {
		return "", fmt.Errorf("crawler: control interface: a snapshot %q was made, not %q", made, name)
	}
	return path, nil
}

func (s *server) look(ctx context.Context, _ struct{}) (l status.Look, err error) {
	if l.Status, err = s.crawl.Status(ctx); err != nil {
		return l, err
	}
	live := s.crawl.Live()
	if l.Estimate, err = live.Estimate(ctx); err != nil {
		return l, err
	}
	l.Memory, l.Workers = memory(), live.Workers()
	l.Waits, err = live.Waits(ctx, l.Status.LimitedByIP)
	return l, err
}

// memory returns the memory of this process.
func memory() int64 {
	all := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(all)
	return int64(all[0].Value.Uint64() - all[1].Value.Uint64())
}

// Look returns status, estimate and waits of the crawl. It is cheap.
func (r *Remote) Look(ctx context.Context) (status.Look, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	return call[status.Look](ctx, r, "/look", struct{}{})
}

// SnapshotPrefix begins the names of the snapshots that a running crawl writes into its directory. The client removes
// its snapshot; the next run removes snapshots that a kill left.
const SnapshotPrefix = "frontier-snapshot-"

const snapshotSuffix = ".db"

// NewSnapshot returns a name for a snapshot in the crawl directory. The client chooses it, and checks that no file has
// that name before, so that it never removes another file, whatever the answer is.
func NewSnapshot() string { return SnapshotPrefix + strings.ToLower(rand.Text()) + snapshotSuffix }

func isSnapshot(name string) bool {
	middle, ok := strings.CutPrefix(name, SnapshotPrefix)
	middle, end := strings.CutSuffix(middle, snapshotSuffix)
	return ok && end && len(middle) == len(rand.Text()) && strings.Trim(middle, "abcdefghijklmnopqrstuvwxyz234567") == ""
}

// snapshot copies the frontier into a new file.
func (s *server) snapshot(ctx context.Context, name string) error {
	if !isSnapshot(name) {
		return badOrder{fmt.Errorf("crawler: %q is not a snapshot name", name)}
	}
	path := filepath.Join(s.dir, name)
	if _, err := os.Lstat(path); err == nil { // the client must not remove an existing file
		return badOrder{fmt.Errorf("crawler: snapshot: %s is there already", name)}
	}
	err := s.frontier.Snapshot(ctx, path)
	switch {
	case errors.Is(err, fs.ErrExist):
		return err
	case errors.Is(err, frontier.ErrNoSnapshot):
		return errors.New("crawler: the frontier of this crawl makes no snapshots")
	}
	if err == nil {
		err = os.Chmod(path, 0o600) // it holds the crawl's secret
	}
	if err = cmp.Or(err, ctx.Err()); err != nil { // the client will not remove it
		os.Remove(path)
		return fmt.Errorf("crawler: snapshot: %w", err)
	}
	return nil
}

// ErrStranger means that the other side does not know the secret.
var ErrStranger = errors.New("the other side did not prove that it knows the secret")

// Secure returns a TLS configuration by which each side proves that it knows a secret, without sending it: both use one
// key, derived from the secret.
func Secure(secret string) (*tls.Config, error) {
	seed := sha256.Sum256([]byte(secret))
	key := ed25519.NewKeyFromSeed(seed[:])
	names := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(rand.Reader, names, names, key.Public(), key)
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		Certificates:       []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		ClientAuth:         tls.RequireAnyClientCert,
		InsecureSkipVerify: true, // by names and authorities: only the key counts
		VerifyConnection: func(c tls.ConnectionState) error {
			if !key.Public().(ed25519.PublicKey).Equal(c.PeerCertificates[0].PublicKey) {
				return ErrStranger
			}
			return nil
		},
	}, nil
}

// complaints is the log of a server, without strangers at its port.
var complaints = log.New(withoutStrangers{}, "", log.LstdFlags)

type withoutStrangers struct{}

func (withoutStrangers) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("TLS handshake error")) {
		return len(line), nil
	}
	return os.Stderr.Write(line)
}
