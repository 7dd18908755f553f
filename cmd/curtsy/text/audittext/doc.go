// Package audittext shows the result of an audit to people: Text for a terminal, and WritePage as one page of HTML that
// needs nothing else. Both say the same in the same words; what an archive brought is escaped.
package audittext
