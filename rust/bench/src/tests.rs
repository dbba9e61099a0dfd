use std::thread;

use super::*;

/// Starts a server that answers each byte with two copies of it, and a proxy for it; both end with the test's process.
fn served(delay: Duration) -> u16 {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = Server::Port("127.0.0.1".to_owned(), server.local_addr().unwrap().port());
    thread::spawn(move || {
        for client in server.incoming() {
            let mut client = client.unwrap();
            thread::spawn(move || {
                let mut chunk = vec![0; 1 << 16];
                while let Ok(count @ 1..) = client.read(&mut chunk) {
                    let answer: Vec<u8> = chunk[..count].iter().flat_map(|&byte| [byte, byte]).collect();
                    client.write_all(&answer).unwrap();
                }
            });
        }
    });
    let mut proxy = DelayingProxy::listen(0, address, delay).unwrap();
    let port = proxy.port().unwrap();
    thread::spawn(move || {
        loop {
            proxy.serve(Duration::from_millis(20)).unwrap();
        }
    });
    port
}

#[test]
fn each_request_is_held_back_and_connections_do_not_wait_for_each_other() {
    let port = served(Duration::from_millis(50));
    let began = Instant::now();
    let clients: Vec<_> = (0..8u8)
        .map(|number| {
            thread::spawn(move || {
                let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
                for turn in 0..3 {
                    let asked = Instant::now();
                    client.write_all(&[number, turn]).unwrap();
                    let mut answer = [0; 4];
                    client.read_exact(&mut answer).unwrap();
                    assert_eq!(answer, [number, number, turn, turn]);
                    assert!(asked.elapsed() >= Duration::from_millis(50));
                }
            })
        })
        .collect();
    for client in clients {
        client.join().unwrap();
    }
    assert!(began.elapsed() >= Duration::from_millis(150));
}

#[test]
fn a_later_request_does_not_put_off_an_earlier_one() {
    let port = served(Duration::from_micros(900));
    let connect = || {
        let client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        client.set_nodelay(true).unwrap();
        client
    };
    let (mut one, mut two) = (connect(), connect());
    let apart = |()| {
        let mut reader = one.try_clone().unwrap();
        let first = thread::spawn(move || reader.read_exact(&mut [0; 2]).map(|()| Instant::now()));
        one.write_all(&[1]).unwrap();
        thread::sleep(Duration::from_micros(500));
        two.write_all(&[2]).unwrap();
        two.read_exact(&mut [0; 2]).unwrap();
        let second = Instant::now();
        second.saturating_duration_since(first.join().unwrap().unwrap())
    };
    let widest = std::iter::repeat_n((), 100).map(apart).max();
    assert!(widest > Some(Duration::from_micros(300)), "sent 500 us apart, received {widest:?} apart");
}

#[test]
fn much_is_passed_on_whole_while_the_client_does_not_read() {
    let port = served(Duration::from_millis(1));
    let client = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let sent: Vec<u8> = (0..40_000_000u32).map(|number| (number % 251) as u8).collect();
    let mut writer = client.try_clone().unwrap();
    let wrote = sent.clone();
    let writing = thread::spawn(move || {
        writer.write_all(&wrote).unwrap();
        writer.shutdown(Shutdown::Write).unwrap();
    });
    thread::sleep(Duration::from_millis(200));
    let mut answer = Vec::new();
    (&client).read_to_end(&mut answer).unwrap();
    writing.join().unwrap();
    assert_eq!(answer.len(), 2 * sent.len());
    assert!(answer.iter().step_by(2).eq(sent.iter()));
}

#[test]
fn a_server_that_is_not_there_ends_the_connection() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut proxy = DelayingProxy::listen(0, Server::Port("127.0.0.1".to_owned(), nobody), Duration::ZERO).unwrap();
    let mut client = TcpStream::connect(("127.0.0.1", proxy.port().unwrap())).unwrap();
    proxy.serve(Duration::from_millis(100)).unwrap();
    assert!(matches!(client.read(&mut [0; 1]), Ok(0) | Err(_)));
    assert!(
        DelayingProxy::listen(proxy.port().unwrap(), Server::Port("127.0.0.1".to_owned(), nobody), Duration::ZERO)
            .is_err()
    );
}

#[test]
fn a_server_may_be_a_file() {
    let path = std::env::temp_dir().join(format!("paraply-distance-{}.sock", std::process::id()));
    let _ = std::fs::remove_file(&path); // one of an earlier process with this number
    let server = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let mut proxy = DelayingProxy::listen(0, Server::File(path.clone()), Duration::from_millis(20)).unwrap();
    let mut client = TcpStream::connect(("127.0.0.1", proxy.port().unwrap())).unwrap();
    let asked = Instant::now();
    client.write_all(b"a").unwrap();
    let serving = thread::spawn(move || proxy.serve(Duration::from_millis(200)).unwrap());
    let (mut far, mut byte) = (server.accept().unwrap().0, [0; 1]);
    far.read_exact(&mut byte).unwrap();
    assert!(asked.elapsed() >= Duration::from_millis(20));
    far.write_all(b"b").unwrap();
    client.read_exact(&mut byte).unwrap();
    assert_eq!(byte, *b"b");
    drop(far);
    assert_eq!(client.read(&mut byte).unwrap(), 0);
    serving.join().unwrap();
    std::fs::remove_file(path).unwrap();
}
