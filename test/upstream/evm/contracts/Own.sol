// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

/// A Governor whose proposals may be counted by a module, as Optimism's, and which lets a guardian
/// move votes without an event. Its votes are what the caller says.
contract Modules {
    event ProposalCreated(
        uint256 proposalId, address proposer, address votingModule, bytes proposalData, uint256 startBlock, uint256 endBlock, string description
    );
    event VoteCastWithParams(address indexed voter, uint256 proposalId, uint8 support, uint256 weight, string reason, bytes params);

    string public constant COUNTING_MODE = "support=bravo&quorum=against,for,abstain&params=modules";
    string public constant name = "Modules";
    uint256 public constant votingPeriod = 60;
    mapping(uint256 => uint256[2]) private times;
    mapping(uint256 => uint256[3]) private tallies; // against, for, abstain

    function propose(uint256 salt, string calldata description) external {
        uint256 id = uint256(keccak256(abi.encode(salt)));
        times[id] = [block.number + 2, block.number + 62];
        emit ProposalCreated(id, msg.sender, address(this), hex"01", times[id][0], times[id][1], description);
    }

    function castVote(uint256 id, uint8 support, uint256 weight) external {
        tallies[id][support] += weight;
        emit VoteCastWithParams(msg.sender, id, support, weight, "", abi.encode(weight));
    }

    function overrule(uint256 id, uint256 weight) external {
        tallies[id][1] -= weight;
        tallies[id][0] += weight;
    }

    function proposalVotes(uint256 id) external view returns (uint256, uint256, uint256) {
        return (tallies[id][0], tallies[id][1], tallies[id][2]);
    }

    function quorum(uint256 id) external view returns (uint256) {
        require(times[id][1] > 0);
        return 50;
    }

    function proposalDeadline(uint256 id) public view returns (uint256) {
        return times[id][1];
    }

    function state(uint256 id) external view returns (uint8) {
        if (block.number <= times[id][0]) return 0;
        if (block.number <= times[id][1]) return 1;
        return tallies[id][1] > tallies[id][0] ? 4 : 3;
    }
}

/// Stands for the timelock of a Bravo, and for the Alpha before it.
contract Before {
    uint256 public constant proposalCount = 1;
    uint256 public constant delay = 1 days;
    uint256 public constant GRACE_PERIOD = 14 days;

    function acceptAdmin() external {}
}

/// A registry of names which is the resolver of each node that has a record, as the Ethereum Name Service's.
contract Names {
    mapping(bytes32 => string) public name;
    mapping(bytes32 => address) public addr;

    function set(bytes32 reverse, string calldata primary) external {
        name[reverse] = primary;
    }

    function point(bytes32 node, address to) external {
        addr[node] = to;
    }

    function resolver(bytes32 node) external view returns (address) {
        return bytes(name[node]).length > 0 || addr[node] != address(0) ? address(this) : address(0);
    }
}

/// An escrow of votes, as Curve's with delegates: the power of a lock falls to nothing until its end, and no
/// log says so. A lock without an end keeps its power.
contract Escrow {
    event DelegateChanged(address indexed delegator, address indexed fromDelegate, address indexed toDelegate);
    event DelegateVotesChanged(address indexed delegate, uint256 previousVotes, uint256 newVotes);

    uint8 public constant decimals = 18;
    uint256 private constant MAXTIME = 4 * 365 days;
    struct Lock {
        uint256 value;
        uint256 end;
    }
    mapping(address => Lock) private locks;
    mapping(address => address) public delegates;
    mapping(address => address[]) private delegators;
    address[] private holders;

    function lock(address holder, uint256 value, uint256 end) public {
        if (delegates[holder] == address(0)) {
            holders.push(holder);
            move(holder, holder);
        }
        uint256 before = getVotes(delegates[holder]);
        locks[holder] = Lock(value, end);
        emit DelegateVotesChanged(delegates[holder], before, getVotes(delegates[holder]));
    }

    function lockMany(uint160 first, uint160 count, uint256 end) external {
        for (uint160 i = first; i < first + count; i++) lock(address(i), uint256(i) * 1e12, end);
    }

    function delegate(address to) external {
        address from = delegates[msg.sender];
        (uint256 less, uint256 more) = (getVotes(from), getVotes(to));
        move(msg.sender, to);
        emit DelegateVotesChanged(from, less, getVotes(from));
        emit DelegateVotesChanged(to, more, getVotes(to));
    }

    function move(address holder, address to) private {
        address[] storage left = delegators[delegates[holder]];
        for (uint256 i = 0; i < left.length; i++) {
            if (left[i] == holder) {
                left[i] = left[left.length - 1];
                left.pop();
            }
        }
        emit DelegateChanged(holder, delegates[holder], to);
        delegates[holder] = to;
        delegators[to].push(holder);
    }

    function powerOf(address holder) private view returns (uint256) {
        Lock storage l = locks[holder];
        if (l.end == 0) return l.value;
        return l.end <= block.timestamp ? 0 : l.value * (l.end - block.timestamp) / MAXTIME;
    }

    function getVotes(address to) public view returns (uint256 power) {
        for (uint256 i = 0; i < delegators[to].length; i++) power += powerOf(delegators[to][i]);
    }

    function totalSupply() external view returns (uint256 power) {
        for (uint256 i = 0; i < holders.length; i++) power += powerOf(holders[i]);
    }
}

/// An escrow whose locks are tokens that delegate to each other, as Velodrome's: no account has power without
/// one of its tokens.
contract TokenEscrow {
    event DelegateChanged(address indexed delegator, uint256 indexed fromDelegate, uint256 indexed toDelegate);
    event DelegateVotesChanged(address indexed delegate, uint256 previousBalance, uint256 newBalance);

    uint8 public constant decimals = 18;
    uint256 public constant totalSupply = 5e18;
    mapping(uint256 => uint256) public delegates;

    function delegate(uint256 from, uint256 to) external {
        emit DelegateChanged(msg.sender, delegates[from], to);
        emit DelegateVotesChanged(msg.sender, 0, 5e18);
        delegates[from] = to;
    }

    function getVotes(address, uint256 id) external view returns (uint256) {
        return delegates[id] == 0 ? 5e18 : 0;
    }
}
