package forgery

import (
	"strings"
	"testing"

	"curtsy/storage/audit/finding"
)

const tour = "http://bakery.test/kitchen/tour"

// quoted makes a row that changes a text in an exchange's metadata record and in its line alike.
func quoted(url, name, metadata, json, value string, found finding.Code) row {
	return agreeing(url, name, found, "", func(t *testing.T, x exchange, line func(string, string)) {
		x.told.field(t, metadata, value)
		line(json, `"`+value+`"`)
	})
}

// alikeRows forge what both tell of an exchange, a field at a time.
var alikeRows = []row{
	quoted(tour, "the rule that decided", "robotsRule", "rule", "Allow: /", finding.Verdict),
	quoted(tour, "the group that decided", "robotsGroup", "group", "curtsy", finding.Verdict),
	quoted(tour, "the rule that decided nearly", "robotsRunnerUp", "runner_up", "Disallow: /kitchen/tour", finding.Verdict),
	quoted(tour, "the standard that robots.txt was read by", "robotsStandard", "standard", "std1994", finding.Verdict),
	{class: inBoth, name: "the rule of a refusal", found: finding.Verdict, forge: func(e *evidence) {
		const rule = `"rule":"Disallow: /kitchen/"`
		i := e.line(`"decision":"disallow"`, rule)
		for _, r := range e.kind("metadata") {
			r.block = strings.Replace(r.block, rule, `"rule":"Disallow: /"`, 1)
		}
		e.value(i, "rule", `"Disallow: /"`)
		e.resign()
	}},
	quoted(bread, "a decision that is not a word", "decision", "decision", "permit", finding.BadRecord),
	quoted(bread, "a kind that is not a word", "kind", "kind", "guess", finding.BadRecord),
	quoted(bread, "an outcome that is not a word", "outcome", "outcome", "done", finding.BadRecord),
	quoted(bread, "a page that came is called gone", "outcome", "outcome", "gone", finding.BadRecord),
	quoted(bread, "a page that came is called a failure", "outcome", "outcome", "failed", finding.BadRecord),
	quoted(bread, "a page that came is called a redirect", "outcome", "outcome", "redirected", finding.BadRecord),
	quoted("http://bakery.test/gone", "a page that is gone is called fetched", "outcome", "outcome", "fetched", finding.BadRecord),
	quoted("http://bakery.test/gone", "a page that is gone is called dropped", "outcome", "outcome", "dropped", finding.BadRecord),
	quoted("http://bakery.test/moved", "a redirect is called fetched", "outcome", "outcome", "fetched", finding.BadRecord),
	{class: inBoth, name: "the commitment to the heads", found: finding.Digest, forge: func(e *evidence) {
		x := e.of(bread)
		e.bind(x)
		x.told.field(e.t, "headsSha256", strings.Trim(other, `"`))
		e.bindBlocks(x)
		e.value(e.lineOf(x), "heads_sha256", other)
		e.resign()
	}},
	lodgedOnly(bread, "another kind", "kind", "kind", `"embed"`),
	lodgedOnly(bread, "an attempt", "attempt", "attempt", "2"),
	lodgedOnly(bread, "a depth", "depth", "depth", "7"),
}

// lodgedOnly is a row for what archive and ledger tell alike, and nothing else tells of: the lodged head alone gives it away.
func lodgedOnly(url, name, metadata, json, value string) row {
	return agreeing(url, name, finding.LedgerHead, lodged, func(t *testing.T, x exchange, line func(string, string)) {
		x.told.field(t, metadata, strings.Trim(value, `"`))
		line(json, value)
	})
}
