package witness

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"curtsy/frontier/durable"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/ledger/tree"
)

const (
	addPath  = "/add-checkpoint"
	sizeType = "text/x.tlog.size"
)

const (
	maxAnswer     = checkpoint.MaxNote + 1<<10 // bytes read of a response: a note and a little
	clientTimeout = 30 * time.Second           // for a whole exchange
)

// NewHTTPClient returns a client for witnesses. It allows any address, since the user names them, and follows no redirects.
func NewHTTPClient() *http.Client {
	return &http.Client{
		Timeout:       clientTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

type Client struct {
	http *http.Client
	base *url.URL
}

func NewClient(h *http.Client, prefix string) (*Client, error) {
	u, err := url.Parse(prefix)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("%q is not a witness URL; write it like https://witness.example or http://127.0.0.1:7380",
			prefix)
	}
	return &Client{h, u}, nil
}

// A StatusError is a response other than 200 and 409.
type StatusError struct {
	Status int
	Why    string // by the witness: one line of third-party text
}

func (e *StatusError) Error() string {
	meanings := map[int]string{
		http.StatusBadRequest:          "it does not take the request",
		http.StatusForbidden:           "it trusts none of the keys that signed the checkpoint",
		http.StatusNotFound:            "it does not follow this log",
		http.StatusUnprocessableEntity: "it has seen another history of this log: the proof from its checkpoint does not hold",
	}
	text, ok := meanings[e.Status]
	if !ok {
		text = fmt.Sprintf("it answered %d", e.Status)
	}
	if e.Why != "" {
		text += fmt.Sprintf(" (%.200q)", e.Why)
	}
	return text
}

var errConflict = errors.New("the witness has the log at another size") // the response 409

const maxTurns = 4 // attempts: others may submit checkpoints of the log at the same time

// Cosign asks the witness to cosign n, a checkpoint signed by the log. It learns the witness's size from the refusal of its
// first request; prove gives the proof from there to n. A witness with a larger log is ErrAhead.
func (c *Client) Cosign(
	ctx context.Context, n *checkpoint.Note, prove func(from int64) (tlog.TreeProof, error),
) ([]checkpoint.Signature, error) {
	var old int64
	var proof tlog.TreeProof
	for range maxTurns {
		b, size, err := c.add(ctx, Request{old, proof, n})
		if err == nil {
			return checkpoint.ParseSignatures(b)
		}
		if !errors.Is(err, errConflict) {
			return nil, err
		}
		if size > n.Size {
			return nil, fmt.Errorf("%w: %d entries, and this has %d", ErrAhead, size, n.Size)
		}
		old, proof = size, nil
		if old > 0 && old < n.Size {
			if proof, err = prove(old); err != nil {
				return nil, err
			}
		}
	}
	return nil, errors.New("the witness returns another size each time")
}

// ErrAhead reports a witness with a longer log: the given checkpoint is old, or the log was cut.
var ErrAhead = errors.New("the witness has a longer log")

// add sends a request. A conflict returns the witness's size.
func (c *Client) add(ctx context.Context, r Request) (body []byte, size int64, err error) {
	a, err := c.do(ctx, http.MethodPost, addPath, r.Marshal())
	if err != nil {
		return nil, 0, err
	}
	kind, _, _ := mime.ParseMediaType(a.contentType)
	switch {
	case a.status == http.StatusOK:
		return a.body, 0, nil
	case a.status == http.StatusConflict && kind == sizeType:
		text, ok := strings.CutSuffix(string(a.body), "\n")
		size, err = strconv.ParseInt(text, 10, 64)
		if !ok || err != nil || size < 0 || strconv.FormatInt(size, 10) != text { // no sign, no leading zero
			return nil, 0, errors.New("it answered 409 and no size")
		}
		return nil, size, errConflict
	}
	return nil, 0, &StatusError{a.status, firstLine(a.body)}
}

// Latest returns the last checkpoint of an origin that the witness cosigned (the monitoring prefix is the same URL).
func (c *Client) Latest(ctx context.Context, origin string) (*checkpoint.Note, error) {
	sum := sha256.Sum256([]byte(origin))
	a, err := c.do(ctx, http.MethodGet, "/"+hex.EncodeToString(sum[:])+"/checkpoint", nil)
	switch {
	case err != nil:
		return nil, err
	case a.status == http.StatusNotFound:
		return nil, errors.New("it has cosigned no checkpoint of this log")
	case a.status != http.StatusOK:
		return nil, &StatusError{a.status, firstLine(a.body)}
	}
	n, err := checkpoint.Parse(a.body)
	if err == nil && n.Origin != origin {
		err = fmt.Errorf("it answered with a checkpoint of another log, %.200q", n.Origin)
	}
	return n, err
}

type reply struct {
	status      int
	contentType string
	body        []byte
}

func (c *Client) do(ctx context.Context, method, path string, body []byte) (reply, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base.JoinPath(path).String(), bytes.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	req.Header.Set("User-Agent", "curtsy")
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "text/plain; charset=utf-8")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return reply{}, fmt.Errorf("its answer was cut short: %w", err)
	case len(b) > maxAnswer:
		return reply{}, fmt.Errorf("its response has more than %d bytes", maxAnswer)
	}
	return reply{resp.StatusCode, resp.Header.Get("Content-Type"), b}, nil
}

func firstLine(b []byte) string {
	line, _, _ := strings.Cut(string(b), "\n")
	return strings.TrimSpace(line)
}

// Request is an add-checkpoint request (https://c2sp.org/tlog-witness). Proof shows that Note continues the tree of size Old.
type Request struct {
	Old   int64
	Proof tlog.TreeProof
	Note  *checkpoint.Note
}

func (r Request) Marshal() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "old %d\n", r.Old)
	for _, h := range r.Proof {
		b.WriteString(h.String() + "\n")
	}
	b.WriteByte('\n')
	b.Write(r.Note.Marshal())
	return b.Bytes()
}

const (
	patience = 10 * time.Second // of Keep with another process that holds the same ledger's checkpoints
	pause    = 20 * time.Millisecond
)

// Keep adds a witness's cosignature to the stored checkpoint n of the ledger in dir, and to the latest checkpoint if that is
// the same. It returns the time of the cosignature: an earlier one stays, since it proves more. The crawl may run meanwhile.
func Keep(
	ctx context.Context, dir string, n *checkpoint.Note, by checkpoint.Key, s checkpoint.Signature,
) (time.Time, error) {
	fresh, err := checkpoint.Parse(append(n.Text(), '\n'))
	if err != nil {
		return time.Time{}, err
	}
	fresh.Add(s)
	at, ok := fresh.Cosigned(by)
	if !ok {
		return at, fmt.Errorf("its cosignature is not by %s", by.Name())
	}
	held, err := hold(ctx, dir)
	if err != nil {
		return at, err
	}
	defer held.Close() // a lock
	stored, err := storedNote(dir, n)
	if err != nil {
		return at, err
	}
	if earlier, ok := stored.Cosigned(by); ok {
		at = earlier
	} else if !stored.Add(s) {
		return at, fmt.Errorf("the checkpoint has %d signatures, and takes no more", checkpoint.MaxSignatures)
	}
	if err := durable.WriteFile(ledger.CheckpointPath(dir, n.Size), stored.Marshal(), 0o644); err != nil {
		return at, err
	}
	return at, refreshLatest(dir, stored)
}

// storedNote returns the stored note of n's size, which must have n's text.
func storedNote(dir string, n *checkpoint.Note) (*checkpoint.Note, error) {
	path := ledger.CheckpointPath(dir, n.Size)
	stored, err := ledger.ReadNote(path)
	if errors.Is(err, fs.ErrNotExist) { // a kill came before it, or it was copied without
		return n, nil
	}
	if err == nil && !bytes.Equal(stored.Text(), n.Text()) {
		err = fmt.Errorf("%s is another checkpoint than the one that was sent", path)
	}
	return stored, err
}

// refreshLatest replaces the latest checkpoint by n if only signatures differ. If a running crawl writes a later one at the
// same time, the later one's stored file restores it.
func refreshLatest(dir string, n *checkpoint.Note) error {
	path := filepath.Join(dir, ledger.CheckpointName)
	latest, err := ledger.ReadNote(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err != nil || !bytes.Equal(latest.Text(), n.Text()) || bytes.Equal(latest.Marshal(), n.Marshal()) {
		return nil
	}
	if err := durable.WriteFile(path, n.Marshal(), 0o644); err != nil {
		return err
	}
	if latest, err = ledger.Latest(dir); err != nil || latest.Size <= n.Size {
		return err
	}
	return durable.WriteFile(path, latest.Marshal(), 0o644)
}

// hold locks the checkpoints of the ledger in dir against other processes.
func hold(ctx context.Context, dir string) (io.Closer, error) {
	folder := filepath.Dir(ledger.CheckpointPath(dir, 0))
	if err := durable.MakeFolder(folder); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		held, err := durable.Hold(folder)
		if !errors.Is(err, durable.ErrHeld) {
			return held, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%s: another command has kept a checkpoint there for long: try again later", folder)
		case <-time.After(pause):
		}
	}
}

var emptyRoot = new(tree.Growing).Root()

// A View is one party's view of a log: a checkpoint and, if it has the entries, the root of each tree up to it.
type View struct {
	Note *checkpoint.Note
	Root func(size int64) (tlog.Hash, error) // nil if there is only the note
}

type Relation string

const (
	Equal     Relation = "equal"     // one tree
	Continued Relation = "continued" // the second continues the first
	Continues Relation = "continues" // the first continues the second
	Fork      Relation = "fork"      // neither does: two histories under one name
	Otherwise Relation = "other-log" // two origins: nothing to compare
	Unknown   Relation = "unknown"   // the longer one is only a note, and proves nothing about the shorter
)

// A Verdict is the relation of two views. Common is the number of entries of their common history.
type Verdict struct {
	Relation Relation
	Common   int64 // -1 if unknown
}

// Relate compares two views. It checks no signatures.
func Relate(a, b View) (Verdict, error) {
	switch {
	case a.Note.Origin != b.Note.Origin:
		return Verdict{Otherwise, -1}, nil
	case a.Note.Size > b.Note.Size:
		v, err := Relate(b, a)
		if v.Relation == Continued {
			v.Relation = Continues
		}
		return v, err
	}
	root, size := b.Note.Root, a.Note.Size
	if size < b.Note.Size {
		switch {
		case size == 0 && a.Note.Root == emptyRoot:
			return Verdict{Continued, 0}, nil
		case b.Root == nil:
			return Verdict{Unknown, -1}, nil
		}
		var err error
		if root, err = b.Root(size); err != nil {
			return Verdict{}, fmt.Errorf("witness: compare: %w", err)
		}
	}
	switch {
	case root != a.Note.Root:
		return forked(a, b)
	case size == b.Note.Size:
		return Verdict{Equal, size}, nil
	}
	return Verdict{Continued, size}, nil
}

// forked finds where two views part, by bisection: roots are equal up to there.
func forked(a, b View) (Verdict, error) {
	if a.Root == nil || b.Root == nil {
		return Verdict{Fork, -1}, nil
	}
	same, differ := int64(0), a.Note.Size
	for differ-same > 1 {
		mid := same + (differ-same)/2
		ra, err := a.Root(mid)
		if err != nil {
			return Verdict{}, fmt.Errorf("witness: compare: %w", err)
		}
		rb, err := b.Root(mid)
		if err != nil {
			return Verdict{}, fmt.Errorf("witness: compare: %w", err)
		}
		if ra == rb {
			same = mid
		} else {
			differ = mid
		}
	}
	return Verdict{Fork, same}, nil
}
