package script

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier/canon"
)

func TestANameIsTriedAtAFewPlacesOfAHost(t *testing.T) {
	at := func(format string, args ...any) canon.URL {
		u, err := canon.Parse(fmt.Sprintf(format, args...))
		require.NoError(t, err)
		return u
	}
	var tries Tries
	for range 100 {
		require.True(t, tries.Try("x.js", at("http://a.test/x.js")), "the first place is not tried again")
	}
	places := 0
	for i := range 100 {
		if tries.Try("x.js", at("http://a.test/%d/x.js", i)) {
			places++
		}
	}
	assert.Truef(t, places == maxTries-1, "%d places beside the first, want %d", places, maxTries-1)
	if !tries.Try("y.js", at("http://a.test/9/y.js")) || !tries.Try("x.js", at("http://b.test/9/x.js")) {
		t.Error("another name, or another host, has separate places")
	}
}

func TestTriesRememberABoundedNumberOfNames(t *testing.T) {
	var tries Tries
	u, err := canon.Parse("http://a.test/x.js")
	require.NoError(t, err)
	n := 0
	for i := range maxTried + 10 {
		if tries.Try(fmt.Sprint(i), u) {
			n++
		}
	}
	assert.Truef(t, n == maxTried && tries.Try("0", u), "%d names", n)
}
