package host

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"curtsy/crawler/fetch"
)

func TestClassify(t *testing.T) {
	for _, tt := range []struct {
		status   int
		location string
		unwanted string
		failure  fetch.Class
		cause    error
		want     Answer
		why      string
		again    int
	}{
		{status: 200, want: Answered, again: 1},
		{status: 206, want: Answered, again: 1},
		{status: 200, unwanted: "too large", want: Unwanted, why: "too large", again: 1},
		{status: 301, location: "/x", want: Redirected, why: "status 301", again: 1},
		{status: 308, location: "/x", want: Redirected, why: "status 308", again: 1},
		{status: 302, want: Useless, why: "status 302", again: 1},
		{status: 304, location: "/x", want: Useless, why: "status 304", again: 1},
		{status: 400, want: Useless, why: "status 400", again: 1},
		{status: 401, want: Refused, why: "status 401", again: 1},
		{status: 402, want: Refused, why: "status 402", again: 1},
		{status: 403, want: Refused, why: "status 403", again: 1},
		{status: 407, want: Refused, why: "status 407", again: 1},
		{status: 451, want: Refused, why: "status 451", again: 1},
		{status: 404, want: Gone, why: "status 404", again: 1},
		{status: 410, want: Gone, why: "status 410", again: 1},
		{status: 408, want: Broken, why: "status 408", again: 3},
		{status: 425, want: Broken, why: "status 425", again: 3},
		{status: 500, want: Broken, why: "status 500", again: 3},
		{status: 504, want: Broken, why: "status 504", again: 3},
		{status: 429, want: Throttled, why: "status 429", again: 5},
		{status: 503, want: Throttled, why: "status 503", again: 5},
		{failure: fetch.NXDomain, want: Nowhere, why: "nxdomain", again: 2},
		{failure: fetch.PrivateAddress, want: Guarded, why: "private address", again: 1},
		{failure: fetch.DNS, want: Unreachable, why: "dns", again: 3},
		{failure: fetch.Connect, want: Unreachable, why: "connect", again: 3},
		{failure: fetch.Timeout, want: Unreachable, why: "timeout", again: 3},
		{failure: fetch.Timeout, cause: fmt.Errorf("read: %w", fetch.ErrWhole), want: Unwanted, why: "too slow", again: 1},
		{status: 200, failure: fetch.Incomplete, want: Unreachable, why: "incomplete", again: 3},
		{status: 200, failure: fetch.Coding, want: Useless, why: "coding", again: 1},
		{status: 503, failure: fetch.Coding, want: Throttled, why: "status 503", again: 5},
		{status: 429, failure: fetch.Incomplete, want: Throttled, why: "status 429", again: 5},
		{status: 500, failure: fetch.Incomplete, want: Broken, why: "status 500", again: 3},
		{status: 404, failure: fetch.Coding, want: Gone, why: "status 404", again: 1},
	} {
		ex := &fetch.Exchange{Status: tt.status, Header: http.Header{}, Unwanted: tt.unwanted}
		if tt.location != "" {
			ex.Header.Set("Location", tt.location)
		}
		if tt.failure != "" {
			ex.Failure = &fetch.Failure{Class: tt.failure, Err: errors.Join(tt.cause, errors.New("cause"))}
		}
		a, why := Classify(ex)
		if a != tt.want || why != tt.why || a.Attempts() != tt.again {
			t.Errorf("status %d, failure %q: answer %d, %q, %d exchanges; want %d, %q, %d", tt.status, tt.failure, a, why, a.Attempts(), tt.want, tt.why, tt.again)
		}
	}
}

func TestObeysRetryAfter(t *testing.T) {
	for status := 100; status < 600; status++ {
		ex := &fetch.Exchange{Status: status, Header: http.Header{}}
		a, _ := Classify(ex)
		if want := status == 429 || status == 503 || status/100 == 3; ObeysRetryAfter(a, status) != want {
			t.Errorf("status %d: %v", status, !want)
		}
	}
}
