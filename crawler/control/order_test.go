package control

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier"
)

// ordered sends a body to the control interface with its token, and returns the status and the error in the response.
func ordered(t *testing.T, dir, path, body string) (status int, says string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, File))
	require.NoError(t, err)
	var at address
	require.NoError(t, json.Unmarshal(b, &at))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+at.Address+path, strings.NewReader(body))
	require.NoError(t, err)
	terms, err := Secure(at.Token)
	require.NoError(t, err)
	resp, err := (&http.Client{Transport: &http.Transport{TLSClientConfig: terms, DisableKeepAlives: true}}).Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	var e errorBody
	if resp.StatusCode != http.StatusOK && json.Unmarshal(answer, &e) != nil {
		t.Errorf("%s %.60s: %s is not an error in JSON", path, body, answer)
	}
	return resp.StatusCode, e.Error
}

func TestWrongOrdersAreRefusedInJSONAndChangeNothing(t *testing.T) {
	dir, _ := served(t)
	for _, o := range []struct{ path, body, says string }{
		{"/steer", "", "read the command"},
		{"/steer", "{}", "no host is named"},
		{"/steer", `{"Act":"nap","Authority":"http://a.test:80"}`, "no act \"nap\""},
		{"/steer", `{"Act":"park","Authority":"http://a.test:80","Until":"noon"}`, "unknown field"},
		{"/steer", `{"Act":"park","Authority":"http://a.test:80"} {}`, "text after it"},
		{"/steer", `{"Act":"park","Authority":"not a host"}`, "read the command"},
		{"/retry", `{"Outcome":"fetched"}`, "not tried again"},
		{"/add", `[{"url":"ftp://a.test/"}]`, "read the command"},
		{"/add", `[{"tag":"x"}]`, "without its URL"},
		{"/add", `[{"url":"http://10.0.0.1/"}]`, "stop the crawl"},
		{"/find", `"a b"`, "a b"},
		{"/host", `null`, "a host without its name"},
		{"/snapshot", `""`, "not a snapshot name"},
		{"/snapshot", `"frontier.db"`, "not a snapshot name"},
		{"/snapshot", `"../` + NewSnapshot() + `"`, "not a snapshot name"},
		{"/snapshot", `"` + SnapshotPrefix + `../aaaaaaaaaaaaaaaaaaaaaaa` + snapshotSuffix + `"`, "not a snapshot name"},
		{"/find", `"` + strings.Repeat("x", maxOrder) + `"`, "too large"},
	} {
		status, says := ordered(t, dir, o.path, o.body)
		if status != http.StatusBadRequest || !strings.Contains(says, o.says) {
			t.Errorf("%s %.60s: %d, %q; want %q", o.path, o.body, status, says, o.says)
		}
	}
	s, err := Ask(t.Context(), dir)
	if err != nil || s.Discovered != 1 || s.Stopped != 0 {
		t.Errorf("%+v, %v", s, err)
	}
}

// noSnapshots is a frontier on a server.
type noSnapshots struct{ frontier.Frontier }

func (noSnapshots) Snapshot(context.Context, string) error { return frontier.ErrNoSnapshot }

func TestARemoteDoesWhatTheFrontierDoes(t *testing.T) {
	dir, _ := servedOn(t, func(f frontier.Frontier) frontier.Frontier { return noSnapshots{f} })
	r, err := Connect(t.Context(), dir)
	require.NoError(t, err)
	u := parse(t, "http://b.test/")
	if added, err := r.Add(t.Context(), []frontier.Candidate{{URL: u, Kind: frontier.KindSeed, Seed: u.String(), Tag: "x"}}); err != nil || added.New != 1 {
		t.Errorf("%+v, %v", added, err)
	}
	if _, err := r.Add(t.Context(), []frontier.Candidate{{URL: u, Kind: frontier.KindLink}}); err == nil {
		t.Error("a link was added as a seed")
	}
	found, err := r.Find(t.Context(), "b.test")
	if err != nil || len(found) != 1 || found[0] != u.Authority() {
		t.Fatalf("%v, %v", found, err)
	}
	done, err := r.Steer(t.Context(), frontier.Steering{Act: frontier.Drop, Authority: found[0]})
	if err != nil || !done.Changed || done.URLs != 1 {
		t.Errorf("%+v, %v", done, err)
	}
	again, err := r.Retry(t.Context(), frontier.Retrial{Outcome: frontier.Dropped, Reason: frontier.ReasonOperator})
	require.NoError(t, err)
	assert.EqualValues(t, 1, again.URLs, again)
	if _, err := r.Snapshot(t.Context()); err == nil || !strings.Contains(err.Error(), "makes no snapshots") {
		t.Errorf("%v", err)
	}
}

// slowSteering is a frontier whose Steer takes its time.
type slowSteering struct {
	frontier.Frontier
	reached, goOn chan struct{}
}

func (f slowSteering) Steer(ctx context.Context, s frontier.Steering) (frontier.Steered, error) {
	close(f.reached)
	<-f.goOn
	return f.Frontier.Steer(ctx, s)
}

// A command may end the crawl, by dropping the last host.
func TestAnOrderUnderWayIsAnsweredThoughTheCrawlEnds(t *testing.T) {
	slow := slowSteering{reached: make(chan struct{}), goOn: make(chan struct{})}
	dir, stop := servedOn(t, func(f frontier.Frontier) frontier.Frontier { slow.Frontier = f; return slow })
	r, err := Connect(t.Context(), dir)
	require.NoError(t, err)
	answered := make(chan error, 1)
	drop := frontier.Steering{Act: frontier.Drop, Authority: parse(t, "http://a.test/").Authority()}
	go func() {
		done, err := r.Steer(t.Context(), drop)
		if err == nil && done.URLs != 1 {
			err = fmt.Errorf("%+v", done)
		}
		answered <- err
	}()
	<-slow.reached
	stopped := make(chan struct{})
	go func() { stop(); close(stopped) }()
	for { // until the server accepts no connection
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", r.at.Address)
		if err != nil {
			break
		}
		conn.Close()
	}
	close(slow.goOn)
	assert.NoError(t, <-answered)
	<-stopped
}

// Seeds are split into requests that the server accepts, and not into more than needed.
func TestARemoteSendsSeedsInFewPiecesThatAreTaken(t *testing.T) {
	if testing.Short() {
		t.Skip("it sends much, for long under the race detector")
	}
	calls := 0
	dir, _ := servedOn(t, func(f frontier.Frontier) frontier.Frontier { return countedAdds{f, &calls} })
	r, err := Connect(t.Context(), dir)
	require.NoError(t, err)
	calls = 0
	var few, long []frontier.Candidate
	const n = 10_000
	for i := range n {
		u := parse(t, fmt.Sprintf("http://b.test/%d", i))
		few = append(few, frontier.Candidate{URL: u, Kind: frontier.KindSeed, Seed: u.String()})
		if i < n*15/100 {
			u = parse(t, fmt.Sprintf("http://c.test/%d?%s", i, strings.Repeat("&", 8000)))
			long = append(long, frontier.Candidate{URL: u, Kind: frontier.KindSeed, Seed: u.String(), Tag: strings.Repeat("<", 1000)})
		}
	}
	if added, err := r.Add(t.Context(), few); err != nil || added.New != len(few) || calls > 3 {
		t.Errorf("%+v, %v in %d pieces", added, err, calls)
	}
	if added, err := r.Add(t.Context(), long); err != nil || added.New != len(long) {
		t.Errorf("%+v, %v", added, err)
	}
}

type countedAdds struct {
	frontier.Frontier
	calls *int
}

func (f countedAdds) Add(ctx context.Context, cs []frontier.Candidate) (frontier.Added, error) {
	*f.calls++
	return f.Frontier.Add(ctx, cs)
}

func TestAChangeComesWithItsNote(t *testing.T) {
	dir, _ := served(t)
	r, err := Connect(t.Context(), dir)
	require.NoError(t, err)
	note := "they called: \u00fc & ?note=x\n"
	done, err := r.Change(Noted(t.Context(), note), Change{Setting: SetMaxPages, Value: "7"})
	if err != nil || done.Before != "7" || done.After != note {
		t.Errorf("%+v, %v", done, err)
	}
	if done, err := r.Change(t.Context(), Change{Setting: SetMaxPages}); err != nil || done.After != "" {
		t.Errorf("%+v, %v", done, err)
	}
	if _, err := r.Change(t.Context(), Change{}); !BadOrder(err) {
		t.Errorf("%v", err)
	}
	for _, on := range []bool{true, false} {
		assert.NoError(t, r.Pause(t.Context(), on))
		if s, err := Ask(t.Context(), dir); err != nil || (s.State == "paused") != on {
			t.Errorf("%+v, %v", s, err)
		}
	}
	assert.NoError(t, r.Drain(t.Context()))
	if s, err := Ask(t.Context(), dir); err != nil || s.State != "draining" {
		t.Errorf("%+v, %v", s, err)
	}
}
