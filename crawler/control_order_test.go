package crawler

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"curtsy/frontier"
)

// ordered sends a body to the control interface with its token, and returns the status and the error it answers.
func ordered(t *testing.T, dir, path, body string) (status int, says string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, ControlFile))
	if err != nil {
		t.Fatal(err)
	}
	var at controlAddress
	if err := json.Unmarshal(b, &at); err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+at.Address+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+at.Token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var e errorBody
	if resp.StatusCode != http.StatusOK && json.Unmarshal(answer, &e) != nil {
		t.Errorf("%s %.60s: %s is no error in JSON", path, body, answer)
	}
	return resp.StatusCode, e.Error
}

func TestWrongOrdersAreRefusedInJSONAndChangeNothing(t *testing.T) {
	dir, _ := served(t)
	for _, o := range []struct{ path, body, says string }{
		{"/steer", "", "read the command"},
		{"/steer", "{}", "no host is named"},
		{"/steer", `{"Act":9,"Authority":"http://a.test:80"}`, "no act 9"},
		{"/steer", `{"Act":1,"Authority":"http://a.test:80","Until":"noon"}`, "unknown field"},
		{"/steer", `{"Act":1,"Authority":"http://a.test:80"} {}`, "behind it"},
		{"/steer", `{"Act":1,"Authority":"not a host"}`, "read the command"},
		{"/retry", `{"Outcome":1}`, "not tried again"},
		{"/add", `[{"url":"ftp://a.test/"}]`, "read the command"},
		{"/add", `[{"tag":"x"}]`, "without its URL"},
		{"/add", `[{"url":"http://10.0.0.1/"}]`, "stop the crawl"},
		{"/find", `{"host":"a b"}`, "a b"},
		{"/find", `{"host":"` + strings.Repeat("x", maxOrder) + `"}`, "too large"},
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

func TestARemoteDoesWhatTheFrontierDoes(t *testing.T) {
	dir, _ := served(t)
	r, err := Connect(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil || again.URLs != 1 {
		t.Errorf("%+v, %v", again, err)
	}
	if _, err := r.Snapshot(t.Context()); err == nil || !strings.Contains(err.Error(), "makes no snapshots") {
		t.Errorf("%v", err)
	}
}
