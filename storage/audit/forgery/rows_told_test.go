package forgery

import (
	"strings"
	"testing"

	"curtsy/storage/audit"
)

const tour = "http://bakery.test/kitchen/tour"

// quoted makes a row that changes a text in an exchange's metadata record and in its line alike.
func quoted(url, name, metadata, json, value string, found audit.Code) row {
	return agreeing(url, name, found, "", func(t *testing.T, x exchange, line func(string, string)) {
		x.told.field(t, metadata, value)
		line(json, `"`+value+`"`)
	})
}

// alikeRows forge what both tell of an exchange, a field at a time.
var alikeRows = []row{
	quoted(tour, "the rule that decided", "robotsRule", "rule", "Allow: /", audit.Verdict),
	quoted(tour, "the group that decided", "robotsGroup", "group", "curtsy", audit.Verdict),
	quoted(tour, "the rule that decided nearly", "robotsRunnerUp", "runner_up", "Disallow: /kitchen/tour", audit.Verdict),
	quoted(tour, "the standard that robots.txt was read by", "robotsStandard", "standard", "std1994", audit.Verdict),
	{class: inBoth, name: "the rule of a refusal", found: audit.Verdict, forge: func(e *evidence) {
		const rule = `"rule":"Disallow: /kitchen/"`
		i := e.line(`"decision":"disallow"`, rule)
		for _, r := range e.kind("metadata") {
			r.block = strings.Replace(r.block, rule, `"rule":"Disallow: /"`, 1)
		}
		e.value(i, "rule", `"Disallow: /"`)
		e.resign()
	}},
	quoted(bread, "a decision that is no word", "decision", "decision", "permit", audit.BadRecord),
	quoted(bread, "a kind that is no word", "kind", "kind", "guess", audit.BadRecord),
	quoted(bread, "an outcome that is no word", "outcome", "outcome", "done", audit.BadRecord),
	quoted(bread, "a page that came is called gone", "outcome", "outcome", "gone", audit.BadRecord),
	quoted(bread, "a page that came is called a failure", "outcome", "outcome", "failed", audit.BadRecord),
	quoted(bread, "a page that came is called a redirect", "outcome", "outcome", "redirected", audit.BadRecord),
	quoted("http://bakery.test/gone", "a page that is gone is called fetched", "outcome", "outcome", "fetched", audit.BadRecord),
	quoted("http://bakery.test/gone", "a page that is gone is called dropped", "outcome", "outcome", "dropped", audit.BadRecord),
	quoted("http://bakery.test/moved", "a redirect is called fetched", "outcome", "outcome", "fetched", audit.BadRecord),
	lodgedOnly(bread, "another kind", "kind", "kind", `"embed"`),
	lodgedOnly(bread, "an attempt", "attempt", "attempt", "2"),
	lodgedOnly(bread, "a depth", "depth", "depth", "7"),
}

// lodgedOnly is a row for what archive and ledger tell alike, and nothing else tells of: the lodged head alone gives it away.
func lodgedOnly(url, name, metadata, json, value string) row {
	return agreeing(url, name, audit.LedgerHead, lodged, func(t *testing.T, x exchange, line func(string, string)) {
		x.told.field(t, metadata, strings.Trim(value, `"`))
		line(json, value)
	})
}
