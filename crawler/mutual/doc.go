// Package mutual lets two who share a secret speak HTTP with each other on a machine that others use, too. Each message
// carries a code (HMAC, RFC 2104, with SHA-256) that only one who knows the secret can make: the request's is over its
// method, target, nonce and body, the answer's over the nonce of the request, its status and its body. The secret itself
// is never sent. So
//   - a server does nothing for one who does not know the secret,
//   - a client believes nothing that another said who has the server's port by now, and learns that it is another:
//     ErrStranger,
//   - an answer fits one request: none can be used again.
//
// Nothing is encrypted, and a server that is not asked by the client itself cannot tell a request from its repetition:
// both take somebody who reads the traffic of the loopback interface, who can do more than that.
package mutual
