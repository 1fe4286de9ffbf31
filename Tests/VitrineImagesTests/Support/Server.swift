import LocalServer

/// The demonstration and the tests of the tool use this server as well.
typealias TestServer = LocalServer.TestServer
