package frontier_test

import (
	"encoding"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"curtsy/frontier"
	"curtsy/storage"
)

// The numbers are in databases and the words in ledgers, exports and reports: neither may ever change.
func TestWords_AreStable(t *testing.T) {
	type word interface {
		encoding.TextMarshaler
		fmt.Stringer
	}
	for _, v := range []struct {
		n    word
		back interface {
			encoding.TextUnmarshaler
			fmt.Stringer
		}
		number uint8
		word   string
	}{
		{frontier.KindSeed, new(frontier.Kind), 1, "seed"}, {frontier.KindLink, new(frontier.Kind), 2, "link"},
		{frontier.KindRedirect, new(frontier.Kind), 3, "redirect"}, {frontier.KindEmbed, new(frontier.Kind), 4, "embed"},
		{frontier.KindSitemap, new(frontier.Kind), 5, "sitemap"}, {frontier.KindMap, new(frontier.Kind), 6, "map"},
		{frontier.KindScript, new(frontier.Kind), 7, "script"},
		{frontier.Fetched, new(frontier.Outcome), 1, "fetched"}, {frontier.Redirected, new(frontier.Outcome), 2, "redirected"},
		{frontier.Disallowed, new(frontier.Outcome), 3, "disallowed"}, {frontier.Failed, new(frontier.Outcome), 4, "failed"},
		{frontier.Gone, new(frontier.Outcome), 5, "gone"}, {frontier.Dropped, new(frontier.Outcome), 6, "dropped"},
		{frontier.Held, new(frontier.Outcome), 7, "held"},
		{frontier.Open, new(frontier.Condition), 0, "open"}, {frontier.Parked, new(frontier.Condition), 1, "parked"},
		{frontier.Retired, new(frontier.Condition), 2, "retired"}, {frontier.Refused, new(frontier.Condition), 3, "refused"},
		{frontier.Park, new(frontier.Act), 1, "park"}, {frontier.Drop, new(frontier.Act), 2, "drop"},
		{frontier.Resume, new(frontier.Act), 3, "resume"}, {frontier.Rest, new(frontier.Act), 4, "rest"},
	} {
		text, err := v.n.MarshalText()
		if err != nil || string(text) != v.word || v.n.String() != v.word || fmt.Sprintf("%d", v.n) != fmt.Sprint(v.number) {
			t.Errorf("%T %d is %q (%v), want %d to be %q", v.n, v.n, text, err, v.number, v.word)
		}
		err = v.back.UnmarshalText(text)
		assert.Truef(t, err == nil && v.back.String() == v.word, "%T %q comes back as %q (%v)", v.n, v.word, v.back, err)
	}
	for _, v := range []word{frontier.Kind(0), frontier.Kind(8), frontier.Outcome(0), frontier.Outcome(8), frontier.Condition(4), frontier.Act(0), frontier.Act(5)} {
		text, err := v.MarshalText()
		assert.Errorf(t, err, "%T %d has the word %q", v, v, text)
	}
	for _, text := range []string{"", "Seed", "page"} {
		var k frontier.Kind
		err := k.UnmarshalText([]byte(text))
		assert.Truef(t, err != nil && k == 0, "%q is kind %d", text, k)
	}
	n := len(frontier.Outcomes{})
	assert.Truef(t, n == len(frontier.OutcomeWords())+1, "Outcomes counts %d outcomes of %d", n-1, len(frontier.OutcomeWords()))
}

func TestWords_AreThoseOfTheLedger(t *testing.T) {
	for i, o := range []storage.Outcome{
		storage.OutcomeFetched, storage.OutcomeRedirected, storage.OutcomeDisallowed, storage.OutcomeFailed, storage.OutcomeGone, storage.OutcomeDropped, storage.OutcomeHeld,
	} {
		assert.Equalf(t, frontier.OutcomeWords()[i], string(o), "outcome %d is %s in the ledger", i+1, o)
	}
	for i, k := range []storage.Kind{
		storage.KindSeed, storage.KindLink, storage.KindRedirect, storage.KindEmbed, storage.KindSitemap, storage.KindMap, storage.KindScript,
	} {
		assert.Equalf(t, frontier.Kind(i+1).String(), string(k), "kind %d is %s in the ledger", i+1, k)
	}
}
