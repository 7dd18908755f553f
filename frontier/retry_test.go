package frontier

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestRetrial_Check(t *testing.T) {
	for _, c := range []struct {
		r  Retrial
		ok bool
	}{
		{Retrial{Outcome: Disallowed}, true},
		{Retrial{Outcome: Failed, Hosts: true}, true},
		{Retrial{Outcome: Gone, Robots: true}, true},
		{Retrial{Outcome: Dropped}, true},
		{Retrial{Outcome: Held, Reason: "queries"}, true},
		{Retrial{Hosts: true}, true},
		{Retrial{}, false},
		{Retrial{Robots: true}, false},
		{Retrial{Outcome: Fetched}, false},
		{Retrial{Outcome: Redirected, Hosts: true}, false},
		{Retrial{Outcome: Held + 1}, false},
	} {
		assert.Equal(t, c.ok, (c.r.Check() == nil), c.r)
	}
}
