// Package revisit holds an answer that was archived before against the same URL now (politeness rule 21): the condition
// that a request may carry, the answer that a 304 confirms, how long an answer is fresh by the word of its server (RFC
// 9110 13, RFC 9111 3.2 and 4.2), and what became of the URL since. It is pure; Past is what an archive must offer for it.
package revisit
