package forgery

import "curtsy/storage/audit/finding"

// contradictionRows forge archive and ledger alike, with the operator's key, and contradict what else is signed.
var contradictionRows = formRows

// writing makes a row of a line that readers of JSON may read in several ways.
func writing(name, old, with string) row {
	return row{class: inLedger, name: "a line " + name + ", and all is signed anew", found: finding.LedgerLines, forge: func(e *evidence) {
		e.edit(e.lineOf(e.of(bread)), old, with)
		e.resign()
	}}
}

var formRows = []row{
	writing("with its status twice", `"status":200`, `"status":404,"status":200`),
	writing("with its URL twice", `"url":"`, `"url":"http://far.test/","url":"`),
	writing("with an unknown name twice", `,"salt"`, `,"mood":1,"mood":2,"salt"`),
	writing("with a name of other letters", `,"salt"`, `,"Mood":"good","salt"`),
	writing("with white space", `,"url":`, `, "url":`),
	writing("whose time has an offset", `^(\{"time":"[^"]*)Z"`, `$1+00:00"`),
	{class: inLedger, name: "a mark with a name twice, and all is signed anew", found: finding.LedgerLines, forge: func(e *evidence) {
		e.edit(e.line(`"mark":"stop"`), `"lines":`, `"lines":0,"lines":`)
		e.resign()
	}},
	{class: inLedger, name: "a mark whose time has an offset, and all is signed anew", found: finding.LedgerLines, forge: func(e *evidence) {
		e.edit(e.line(`"mark":"stop"`), `(\.[0-9]{6})Z"`, `$1+00:00"`)
		e.resign()
	}},
}
