package main

import (
	"bytes"
	"io"
	"net/http"
	"testing"
	"time"
)

// illBody asks for the hostile page, and counts what comes as it is sent.
func illBody(t *testing.T, b *ServedWeb) (n, announced int64, coding string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableCompression: true, DisableKeepAlives: true}}
	resp, err := client.Get(b.from[0] + hostilePath)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if n, err = io.Copy(io.Discard, resp.Body); err != nil {
		t.Error(err)
	}
	return n, resp.ContentLength, resp.Header.Get("Content-Encoding")
}

// Each hostile body is as large as it says, linked from the root, and none of the pages that are expected.
func TestHostileBodiesAreAsLargeAsTheySay(t *testing.T) {
	for _, ill := range HostileBodies() {
		b := start(t, WebConfig{Pages: 5, Ill: ill})
		if _, body := get(t, b.Seeds()[0]); !bytes.Contains([]byte(body), []byte(hostilePath)) {
			t.Errorf("%s: the root does not link to it", ill)
		}
		n, announced, coding := illBody(t, b)
		if n != announced {
			t.Errorf("%s: %d of %d octets", ill, n, announced)
		}
		if ill == Huge && (n != 100<<20 || coding != "") || ill == Gzip && (n > 1<<20 || coding != "gzip") || ill == Brotli && (n > 1<<20 || coding != "br") {
			t.Errorf("%s: %d octets, coding %q", ill, n, coding)
		}
		if r := b.Report(); r.Pages != 1 || r.Sick != 1 || r.Other != 0 || r.Ill != ill {
			t.Errorf("%s: %+v", ill, r)
		}
	}
	if _, err := Start(WebConfig{Pages: 1, Ill: "flood"}); err == nil {
		t.Error("a hostile body that there is not")
	}
}

func TestWithoutAHostileBodyThereIsNoSuchPage(t *testing.T) {
	b := start(t, WebConfig{Pages: 5})
	if status, _ := get(t, b.from[0]+hostilePath); status != 404 {
		t.Errorf("status %d", status)
	}
	if r := judgedOf(WebConfig{Hosts: 1, Pages: 1, Ill: Huge}, []request{{0, ms, 2 * ms}}); len(r.Violations()) == 0 {
		t.Error("a hostile page that nobody asked for is no violation")
	}
}

// turns is the log of a host that is asked every 500 ms from a time on, with a pace of 400 ms and answers of 100 ms.
func turns(from time.Duration, n int) (log []request) {
	for i := range n {
		start := from + time.Duration(i)*500*ms
		log = append(log, request{i - 1, start, start + 100*ms})
	}
	return log
}

// The steady ratio is 1 when all hosts are asked as often as is permitted once they are known, however late that is;
// pauses and neglect count.
func TestReferee_TheSteadyRatioIsThatOfTheTimeInWhichAllHostsAreKnown(t *testing.T) {
	slow := turns(0, 21)
	for i := range slow[10:] {
		slow[10+i].start, slow[10+i].end = slow[10+i].start+5000*ms, slow[10+i].end+5000*ms
	}
	neglected := append(turns(0, 1), request{1, 10_000 * ms, 10_100 * ms})
	for name, tt := range map[string]struct {
		logs        [][]request
		steady, met float64
	}{
		"at once":                   {[][]request{turns(0, 21), turns(0, 21)}, 1, 0},
		"one met late":              {[][]request{turns(0, 21), turns(5000*ms, 21)}, 1, 5},
		"one has more":              {[][]request{turns(0, 11), turns(0, 41)}, 1, 0},
		"one pauses for 5 s":        {[][]request{slow, turns(0, 31)}, 50.0 / 60, 0},
		"one is left waiting":       {[][]request{turns(0, 21), neglected}, 21.0 / 40, 0},
		"too short to say anything": {[][]request{turns(0, 2), turns(0, 2)}, 0, 0},
		"one never met":             {[][]request{turns(0, 21), nil}, 0, 0},
	} {
		r := judgedOf(WebConfig{Hosts: 2, Pages: 40, Pace: 400 * ms, Width: 1}, tt.logs...)
		if d := r.Steady - tt.steady; d < -0.001 || d > 0.001 || r.MetAfter != tt.met {
			t.Errorf("%s: steady %.4f, met after %v; want %.4f, %v", name, r.Steady, r.MetAfter, tt.steady, tt.met)
		}
	}
}
